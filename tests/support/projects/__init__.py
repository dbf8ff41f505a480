"""Projects and policies: the shipped one, the examples, small ones, and ones with a planted defect."""
