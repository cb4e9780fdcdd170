import { isToken, TOKEN_DIGITS, TOKENS } from "../catalogue/chains.ts";
import { lowerAscii, textOf } from "../catalogue/text.ts";
import type { Quote } from "../offramps/quotes/model.ts";
import { recordDeposits } from "../offramps/quotes/record-deposits.ts";
import { findQuotes } from "../offramps/quotes/store.ts";
import { checkAddress } from "../partners/chain/check-address.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import { sandboxSender } from "../partners/chain/sandbox.ts";
import { insertSandboxTransfer } from "../partners/chain/sandbox-store.ts";
import { checkTxId, sandboxTxId } from "../partners/chain/tx-id.ts";
import type { Database } from "../platform/db/database.ts";
import { notFound } from "../platform/errors.ts";
import { readTime, TIME_MESSAGE } from "../platform/http/list.ts";
import { compileRender } from "../platform/http/render.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { isId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import { minorToNumber, parseAmount } from "../platform/money.ts";
import { type ObjectProblems, Problems } from "../platform/problems.ts";
import { nameOnce, nameRequest } from "./name-once.ts";
import { whyNotSimulated } from "./real-chains.ts";
import { CryptoDepositAnswer, CryptoDepositBody } from "./schemas.ts";

type CryptoDepositDeps = Pick<ModuleCore, "database" | "clock" | "log" | "wake"> & {
  chain: ChainPort;
};

const writeDeposit = compileRender(CryptoDepositAnswer);

/** Simulates a transfer on the sandbox's chain, and lets the watcher read it. */
export function addSandboxCryptoDepositRoute(addRoute: AddRoute, deps: CryptoDepositDeps): void {
  const { database, chain, clock, wake } = deps;
  addRoute({
    method: "POST",
    path: "/sandbox/crypto_deposits",
    operation: "createSandboxCryptoDeposit",
    stores_nothing: true,
    summary: "Create a crypto deposit",
    description: "Simulates a transfer to the deposit address of a quote.",
    tag: "Sandbox",
    body: CryptoDepositBody,
    body_example: {
      crypto_deposit: { quote_id: "01a1dd11-4aee-7000-adc7-78aca4556f62", amount: 1004 },
    },
    answer: CryptoDepositAnswer,
    errors: ["record_not_found"],
    handle: async ({ caller, body, problems, command }) => {
      const now = clock.now();
      const request = command(null);
      const name = nameOnce(request, now);
      const found = new Problems(problems);
      const input: Input = body.crypto_deposit ?? {};
      const quote = await findNamedQuote(database, caller.account_id, input, found);
      const why_not = quote && whyNotSimulated(chain, quote.deposit_token_chain);
      if (why_not) found.invalid("crypto_deposit.quote_id", why_not);
      const transfer = readTransfer(input, quote, found.within("crypto_deposit"), {
        now,
        name,
      });
      found.throwIfAny();
      const { sender, chain: blockchain, mined_at, amount, ...shown } = transfer!;
      await insertSandboxTransfer(database, transfer!, nameRequest(request));
      await recordDeposits(deps);
      wake();
      return writeDeposit({
        crypto_deposit: {
          ...shown,
          quote_id: quote!.id,
          blockchain,
          from: sender,
          amount: minorToNumber(amount, TOKEN_DIGITS),
          mined_at: mined_at.toISOString(),
        },
      });
    },
  });
}

type Input = Partial<
  Record<"quote_id" | "tx_id" | "token" | "amount" | "from" | "mined_at", unknown>
>;

async function findNamedQuote(
  database: Database,
  account_id: string,
  input: Input,
  found: Problems,
): Promise<Quote | undefined> {
  const field = "crypto_deposit.quote_id";
  const id = textOf(input.quote_id).toLowerCase();
  if (!isId(id)) {
    found.invalid(field, "Send the id of a quote.");
    return undefined;
  }
  const [quote] = await findQuotes(database, [{ account_id, id }]);
  if (!quote) found.report(field, "record_not_found", notFound("").message);
  return quote;
}

/** Undefined, and reported, where it is invalid. */
function readTransfer(
  input: Input,
  quote: Quote | undefined,
  found: ObjectProblems,
  { now, name }: { now: Date; name: string },
) {
  const parsed = parseAmount(input.amount, TOKEN_DIGITS);
  if ("reason" in parsed) found.invalid("amount", parsed.reason);
  const time = textOf(input.mined_at);
  const mined_at = time === "" ? now : readTime(time);
  if (!mined_at) found.invalid("mined_at", TIME_MESSAGE);
  const token = lowerAscii(textOf(input.token)) || quote?.deposit_token;
  if (token !== undefined && !isToken(token)) {
    found.invalid("token", `Send one of ${TOKENS.join(", ")}.`);
  }
  if (!quote) return undefined;
  const { deposit_token_chain: chain, deposit_address: address } = quote;
  const tx_text = textOf(input.tx_id) || sandboxTxId(chain, name);
  const tx = checkTxId(chain, tx_text);
  if ("reason" in tx) found.invalid("tx_id", tx.reason);
  const from = textOf(input.from);
  const sender = from === "" ? { value: sandboxSender(chain, address) } : checkAddress(chain, from);
  if ("reason" in sender) found.invalid("from", sender.reason);
  if ("reason" in parsed || "reason" in tx || "reason" in sender) return undefined;
  if (!mined_at || !token || !isToken(token)) return undefined;
  const tx_id = tx.value;
  return { chain, address, token, tx_id, sender: sender.value, amount: parsed.value, mined_at };
}
