/**
 * A bank's file that is not what it should be. Nothing of it may be applied; its message says what
 * is wrong in one sentence that the operator can pass on to the bank.
 */
export class UnreadableFile extends Error {
  override name = "UnreadableFile";
}
