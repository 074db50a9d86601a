"""Draw charts and pictures as SVG, PNG or CSV, and cache them."""

from crowdml.portal.pictures.charts import CHARTS, CURIOUS
from crowdml.portal.pictures.csv_file import as_csv
from crowdml.portal.pictures.drawing import THEMES, save
from crowdml.portal.pictures.error_chart import draw_spark
from crowdml.portal.pictures.hiding import Hiding, Slider, hiding, sliders
from crowdml.portal.pictures.render_cache import RenderCache

__all__ = [
    "CHARTS",
    "CURIOUS",
    "THEMES",
    "Hiding",
    "RenderCache",
    "Slider",
    "as_csv",
    "draw_spark",
    "hiding",
    "save",
    "sliders",
]
