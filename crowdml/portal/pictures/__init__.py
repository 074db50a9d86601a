"""Draw charts and pictures as SVG, PNG or CSV, and cache them.

The pages call this package, in a thread, because drawing is slow. It uses published numbers and the
sentences of `words`, and knows nothing of requests.
"""

from crowdml.portal.pictures.charts import CHARTS, DETAIL_CHARTS
from crowdml.portal.pictures.csv_file import as_csv
from crowdml.portal.pictures.drawing import THEMES, save
from crowdml.portal.pictures.error_chart import draw_spark
from crowdml.portal.pictures.hiding import Hiding, Slider, hiding, sliders
from crowdml.portal.pictures.render_cache import RenderCache

__all__ = [
    "CHARTS",
    "DETAIL_CHARTS",
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
