"""What the user wrote in a session, and whether what a call names stands in it."""
