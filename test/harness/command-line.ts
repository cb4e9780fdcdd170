import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Compile cache: every command compiles the same files, so later ones start faster. */
export const COMPILED = join(tmpdir(), "sliproad-test-compiled");
const PROGRAM = join(import.meta.dirname, "../../bin/sliproad");

export type Ended = { code: number | null; stdout: string; stderr: string };

export type Running = {
  child: ChildProcess;
  /** The output so far. */
  printed(): { stdout: string; stderr: string };
  ended: Promise<Ended>;
};

/** Starts the real program. It gets the settings given here, none of the test run's. */
export function startCommand(
  args: string[],
  environment: Record<string, string>,
  stdin?: string,
): Running {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH, HOME, NODE_COMPILE_CACHE: COMPILED, ...environment },
    stdio: [stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  child.stdin?.end(stdin);
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]!.setEncoding("utf8").on("data", (text: string) => {
      printed[name] += text;
    });
  }
  const ended = once(child, "close").then(([code]) => ({
    code: code as number | null,
    ...printed,
  }));
  return { child, printed: () => ({ ...printed }), ended };
}

export function runCommand(...command: Parameters<typeof startCommand>): Promise<Ended> {
  return startCommand(...command).ended;
}
