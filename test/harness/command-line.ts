import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Every command compiles the same files: the second one finds them compiled. */
export const COMPILED = join(tmpdir(), "sliproad-test-compiled");
const PROGRAM = join(import.meta.dirname, "../../bin/sliproad");

export type Ended = { code: number | null; stdout: string; stderr: string };

export type Running = {
  child: ChildProcess;
  /** What it has printed so far. */
  printed(): { stdout: string; stderr: string };
  ended: Promise<Ended>;
};

/** Starts the real program. It sees the settings given here, none of those of the test run. */
export function startCommand(args: string[], environment: Record<string, string>): Running {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH, HOME, NODE_COMPILE_CACHE: COMPILED, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
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

export function runCommand(args: string[], environment: Record<string, string>): Promise<Ended> {
  return startCommand(args, environment).ended;
}
