// filled in by the codec
