"""Draw charts and pictures as SVG, PNG or CSV, and cache them."""

from crowdml.portal.pictures.charts import CHARTS, CURIOUS
from crowdml.portal.pictures.drawing import THEMES, save
from crowdml.portal.pictures.error_chart import draw_spark
from crowdml.portal.pictures.gallery import Gallery, as_csv
from crowdml.portal.pictures.hiding import Hiding, Slider, hiding, sliders

__all__ = [
    "CHARTS",
    "CURIOUS",
    "THEMES",
    "Gallery",
    "Hiding",
    "Slider",
    "as_csv",
    "draw_spark",
    "hiding",
    "save",
    "sliders",
]
