"""What writes documentation and is held against it: transcripts of whole stories, tables made from data."""
