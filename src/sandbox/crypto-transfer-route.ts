import { type Chain, isToken, TOKEN_DIGITS, TOKENS, type Token } from "../catalogue/chains.ts";
import { lowerAscii, textOf } from "../catalogue/text.ts";
import { chainOf } from "../invoices/check-parties.ts";
import { listClaims } from "../invoices/payments/claim-store.ts";
import { CHECK_CLAIM_TASK } from "../invoices/task-kinds.ts";
import { checkAddress } from "../partners/chain/check-address.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import { insertWalletTransfer, TRANSFERS_MAX } from "../partners/chain/sandbox-store.ts";
import { checkTxId, sandboxTxId } from "../partners/chain/tx-id.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { type Problem, Refusal } from "../platform/errors.ts";
import { readTime, TIME_MESSAGE } from "../platform/http/list.ts";
import { compileRender } from "../platform/http/render.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { minorToNumber, parseAmount } from "../platform/money.ts";
import { type ObjectProblems, Problems } from "../platform/problems.ts";
import { wakeTasks } from "../platform/tasks/tasks.ts";
import { nameOnce, nameRequest } from "./name-once.ts";
import { whyNotSimulated } from "./real-chains.ts";
import { CryptoTransferAnswer, CryptoTransferBody } from "./schemas.ts";

const writeTransfer = compileRender(CryptoTransferAnswer);

/** Simulates a transfer between two external wallets, such as the payment of an invoice. */
export function addCryptoTransferRoute(
  addRoute: AddRoute,
  deps: { database: Database; clock: Clock; wake: () => void; chain: ChainPort },
): void {
  addRoute({
    method: "POST",
    path: "/sandbox/crypto_transfers",
    operation: "createSandboxCryptoTransfer",
    stores_nothing: true,
    summary: "Create a transfer between two wallets",
    description:
      "The transfer is final immediately. Invoices that were declared paid by it are checked.",
    tag: "Sandbox",
    body: CryptoTransferBody,
    body_example: {
      crypto_transfer: {
        blockchain: "polygon",
        amount: 239.98,
        from: "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf",
        to: "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf",
      },
    },
    answer: CryptoTransferAnswer,
    errors: [],
    handle: async ({ body, problems, command }) => {
      const now = deps.clock.now();
      const request = command(null);
      const found = new Problems(problems);
      const input: Input = body.crypto_transfer ?? {};
      const transfer = readTransfer(input, found.within("crypto_transfer"), {
        now,
        name: nameOnce(request, now),
      });
      const why_not = transfer && whyNotSimulated(deps.chain, transfer.chain);
      if (why_not) found.invalid("crypto_transfer.blockchain", why_not);
      found.throwIfAny();
      const { chain, tx_id, ...rest } = transfer!;
      const mined = await deps.database.transaction(async (tx) => {
        const mined = await insertWalletTransfer(tx, chain, tx_id, rest, nameRequest(request));
        if (!mined) throw Refusal.of([TRANSACTION_FULL]);
        const claims = await listClaims(tx, chain, tx_id);
        const invoices = claims.map(({ account_id, invoice_id: id }) => ({ account_id, id }));
        wakeTasks(tx, CHECK_CLAIM_TASK, invoices, now);
        return mined;
      });
      deps.wake();
      const { token, from, to } = rest;
      return writeTransfer({
        crypto_transfer: {
          ...{ blockchain: chain, tx_id, token, from, to, log_index: mined.log_index },
          amount: minorToNumber(rest.amount, TOKEN_DIGITS),
          mined_at: mined.mined_at.toISOString(),
        },
      });
    },
  });
}

const TRANSACTION_FULL: Problem = {
  field: "crypto_transfer.tx_id",
  code: "record_invalid",
  message: `Send another tx_id: this transaction has ${TRANSFERS_MAX} transfers.`,
};

type NewTransfer = {
  chain: Chain;
  tx_id: string;
  token: Token;
  amount: bigint;
  from: string;
  to: string;
  mined_at: Date;
};

type Input = Partial<
  Record<"tx_id" | "mined_at" | "blockchain" | "token" | "amount" | "from" | "to", unknown>
>;

/** Undefined, and reported, where it is invalid. */
function readTransfer(
  input: Input,
  found: ObjectProblems,
  { now, name }: { now: Date; name: string },
): NewTransfer | undefined {
  const chain = chainOf(textOf(input.blockchain));
  if (!chain) found.invalid("blockchain", "Send the name of a chain, e.g. polygon.");
  const token = lowerAscii(textOf(input.token)) || TOKENS[0];
  if (!isToken(token)) found.invalid("token", `Send one of ${TOKENS.join(", ")}.`);
  const parsed = parseAmount(input.amount, TOKEN_DIGITS);
  if ("reason" in parsed) found.invalid("amount", parsed.reason);
  const time = textOf(input.mined_at);
  const mined_at = time === "" ? now : readTime(time);
  if (!mined_at) found.invalid("mined_at", TIME_MESSAGE);
  if (!chain) return undefined;
  const tx = checkTxId(chain, textOf(input.tx_id) || sandboxTxId(chain, name));
  if ("reason" in tx) found.invalid("tx_id", tx.reason);
  const from = checkAddress(chain, textOf(input.from));
  if ("reason" in from) found.invalid("from", from.reason);
  const to = checkAddress(chain, textOf(input.to));
  if ("reason" in to) found.invalid("to", to.reason);
  if ("reason" in parsed || "reason" in tx || "reason" in from || "reason" in to) return undefined;
  if (!isToken(token) || !mined_at) return undefined;
  const addresses = { from: from.value, to: to.value };
  return { chain, tx_id: tx.value, token, amount: parsed.value, ...addresses, mined_at };
}
