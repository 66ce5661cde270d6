"""The answer harness: proves an assignment's tests with known right and wrong answers."""
