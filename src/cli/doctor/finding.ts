export type Finding = {
  check: string;
  ok: boolean;
  /** Nothing is broken, but the operator should look: it does not change the exit code. */
  warning?: true;
  finding: string;
};
