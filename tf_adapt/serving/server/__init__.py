"""The HTTP server: TensorFlow Serving's REST API over exports, and a page to try them."""
