"""What decisions leave on disk: approvals, audit logs, signatures."""
