"""What a comparison can do without: downloads, new cards, speed."""
