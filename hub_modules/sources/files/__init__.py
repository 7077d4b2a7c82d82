"""The files that foreign formats are made of: read strictly, nothing larger than stored."""
