/** The user's mistake: exit code 1. The message says what to write instead. */
export class UserError extends Error {
  override readonly name = "UserError";
}

/** A fault of the environment (port taken, file not writable, peer not there): exit code 2. */
export class EnvironmentError extends Error {
  override readonly name = "EnvironmentError";
}
