/**
 * A reason not to start that the operator can act on. Its message is one whole sentence; the
 * command line prints it without a stack and exits with 1. Anything else thrown is a bug.
 */
export class StartupError extends Error {
  override name = "StartupError";
}
