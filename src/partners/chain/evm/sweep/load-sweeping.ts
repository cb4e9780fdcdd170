import { TOKEN_DIGITS } from "../../../../catalogue/chains.ts";
import type { operatorFile } from "../../../../catalogue/operator-file.ts";
import type { SendingSettings, SweepingSettings } from "../model.ts";
import { readDecimal } from "../send/load-sending.ts";

const KEYS = ["minimum", "max_fee_gwei"];
const GWEI_DIGITS = 9;

/** When deposits of a chain are swept. */
export function readSweeping(
  file: ReturnType<typeof operatorFile>,
  value: unknown,
  path: string,
  sending: SendingSettings | null,
): SweepingSettings {
  if (!sending) throw file.wrong(path, "needs sending: the treasury pays for the gas");
  const given = file.asObject(value, path, KEYS);
  const minimum = readDecimal(given.minimum, TOKEN_DIGITS);
  if (minimum === null || minimum === 0n) {
    throw file.wrong(`${path}.minimum`, 'must be an amount of tokens in quotes such as "100"');
  }
  if (given.max_fee_gwei === undefined) return { minimum, max_fee: sending.max_fee };
  const max_fee = readDecimal(given.max_fee_gwei, GWEI_DIGITS);
  if (max_fee === null) {
    throw file.wrong(`${path}.max_fee_gwei`, 'must be an amount in quotes such as "30"');
  }
  return { minimum, max_fee };
}
