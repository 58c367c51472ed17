"""Search CNN variants for the best trade between accuracy and what they cost on an edge GPU."""
