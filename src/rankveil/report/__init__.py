"""Numbers to pictures. Charts are Vega-Lite specifications, drawn to SVG and PNG without a browser."""
