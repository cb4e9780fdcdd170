import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Instruction } from "../../../src/partners/bank/port.ts";
import type { BankProcessInput } from "../../harness/bank-process.ts";

const SCRIPT = join(import.meta.dirname, "../../harness/bank-process.ts");

/** Runs the process to its end; true: it was killed. */
export async function runBankProcess(
  database_url: string,
  files: BankProcessInput["files"],
  instructions: readonly Instruction[],
  killed_at: number | null,
): Promise<boolean> {
  const texts = instructions.map((one) => ({ ...one, amount: String(one.amount) }));
  const input: BankProcessInput = { database_url, files, instructions: texts, killed_at };
  const child = fork(SCRIPT, [JSON.stringify(input)], { execArgv: [] });
  const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
  if (signal === "SIGKILL") return true;
  if (code !== 0) throw new Error(`the process ended with ${code ?? signal}`);
  return false;
}
