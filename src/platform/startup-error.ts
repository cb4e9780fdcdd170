/**
 * A reason not to start that a person can act on. Its message is one whole sentence; the command
 * line prints it without a stack and exits with 1. Anything else that is thrown is a fault of ours.
 */
export class StartupError extends Error {
  override name = "StartupError";
}
