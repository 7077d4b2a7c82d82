"""What a finished run is for: loading, scoring, predicting, exporting."""
