"""A trained model for other engines: ONNX, CTranslate2, a web page."""
