/* What a call from Python costs by itself. Does nothing. */
void nothing(void) {}
