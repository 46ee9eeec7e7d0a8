"use strict";
// A page of tables and charts.
loaded().then((data) => drawCharts(data.charts)).then(() => { document.documentElement.dataset.ready = "1"; });
