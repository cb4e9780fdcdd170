import type { Command } from "commander";
import { signingKey } from "../platform/sealing/seal.ts";
import { signingSeed } from "../platform/sealing/signing-seed.ts";
import { verify } from "../verify/verify.ts";
import { type JsonOption, print, withCore } from "./context.ts";

export function addVerifyCommand(program: Command): void {
  program
    .command("verify")
    .description("recompute every sealed log and name the first row that is wrong")
    .option("--json", "print one JSON document")
    .action(async (options: JsonOption) => {
      const { accounts, fault } = await withCore(({ config, database, clock }) =>
        verify(database, signingKey(signingSeed(config)), clock.now()),
      );
      const sentence = fault ? `Wrong: ${fault}.` : `All is well in ${accounts} accounts.`;
      print(options, { ok: fault === null, accounts, fault }, [sentence]);
      if (fault) process.exitCode = 1;
    });
}
