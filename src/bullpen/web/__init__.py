"""What a browser gets. Until the page is built, a small static one: what this is, how to begin, links."""
