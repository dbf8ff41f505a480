"""What is right, found without the product: evaluators written from the specification, published schemas."""
