import Type from "typebox";
import { chainsOf, tokensOn } from "../../catalogue/catalogue.ts";
import { checkNewQuote } from "../../offramps/quotes/check-new-quote.ts";
import type { Quote } from "../../offramps/quotes/model.ts";
import { findQuotes } from "../../offramps/quotes/store.ts";
import { keyedHash } from "../../platform/encryption/cipher.ts";
import { notFound, type Problem, Refusal } from "../../platform/errors.ts";
import { cutPage, listQuery, requirePage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import { inBatchTurn } from "./batch-turns.ts";
import { changeBatches, createBatches } from "./change-batches.ts";
import { checkBatch } from "./check-batch.ts";
import { asDraft, type Batch, type BatchRow, isEditable, sizeProblems } from "./model.ts";
import { type BatchDeps, openCreatePayouts } from "./open-create-payouts.ts";
import { renderDraft, renderStarted, renderSummary } from "./render.ts";
import { ChangeBatchBody, CreateBatchBody, CreatePayoutsBody } from "./schemas.ts";
import { countByStatus, findBatch, listBatches, openTitle, toBatch } from "./store.ts";

const PATH = "/dashboard/api/batches";
const BODY_BYTES_MAX = 8 * 1024 * 1024;
const SHARED = { tag: "Dashboard", members_only: true, answer: Type.Unknown() } as const;
const NO_EXAMPLE = {} as never;

/** Files of payouts that members upload, check and create. */
export function addBatchRoutes(addRoute: AddRoute, deps: BatchDeps): void {
  addReadRoutes(addRoute, deps);
  addUploadRoute(addRoute, deps);
  addChangeRoutes(addRoute, deps);
  addCreateRoute(addRoute, deps);
}

function addReadRoutes(addRoute: AddRoute, deps: BatchDeps): void {
  const { database, keyring, catalogue } = deps;
  addRoute({
    ...SHARED,
    method: "GET",
    path: PATH,
    operation: "listBatches",
    summary: "List payout batches",
    description: "Those that were not deleted, newest first, and the coins that can pay for one.",
    query: listQuery({}),
    errors: [],
    handle: async ({ caller: { account_id }, query, problems }) => {
      const page = requirePage(query, problems);
      const found = await listBatches(database, account_id, page);
      const { rows, has_more } = cutPage(found, page);
      const keys = await keyring.openUserKeys(database, rows);
      // Without those of people who were erased.
      const batches = rows.flatMap((summary) => {
        const key = keys.get(account_id, summary.user_id);
        return key ? [renderSummary(summary, openTitle(summary, key))] : [];
      });
      const coins = chainsOf(catalogue).flatMap((chain) =>
        tokensOn(catalogue, chain).map((token) => ({ token, chain })),
      );
      const next = has_more ? rows.at(-1)!.id : null;
      return JSON.stringify({ batches, coins, next });
    },
  });

  addRoute({
    ...SHARED,
    method: "GET",
    path: `${PATH}/:batch_id`,
    operation: "showBatch",
    summary: "Show a payout batch",
    description: "Its rows with what is wrong in each cell, or how far its payouts are.",
    errors: [],
    handle: ({ caller: { account_id }, params, problems }) =>
      inBatchTurn(account_id, () => show(deps, account_id, params.batch_id, problems)),
  });
}

function addUploadRoute(addRoute: AddRoute, deps: BatchDeps): void {
  const { executor, keyring, catalogue, index_key } = deps;
  const submit = executor.register(createBatches(keyring));
  addRoute({
    ...SHARED,
    method: "POST",
    path: PATH,
    operation: "createBatch",
    summary: "Upload a payout batch",
    description: "Stores the rows of a file and checks them. Nothing else is created.",
    body: CreateBatchBody,
    body_example: NO_EXAMPLE,
    body_bytes_max: BODY_BYTES_MAX,
    errors: [],
    handle: async ({ caller, body, problems, command }) => {
      const wanted = checkNewQuote(body.batch, catalogue, problems);
      if ("problems" in wanted) throw Refusal.of(wanted.problems);
      const { user_id = "", file_name = "", file_hash = "", rows = [] } = body.batch ?? {};
      if (!isId(user_id)) throw Refusal.of([notFound("batch.user_id")]);
      const content = {
        file_name,
        is_file_acknowledged: false,
        rows: fitting(distinctRows(rows as Pick<BatchRow, "n" | "cells">[])),
        plan: null,
        digest: null,
      };
      const file_index = keyedHash(index_key, "file of a payout batch", file_hash);
      const input = { user_id: user_id.toLowerCase(), ...wanted.value, content, file_index };
      return inBatchTurn(caller.account_id, async () => {
        const answer = await submit(command(input));
        return show(deps, caller.account_id, JSON.parse(answer.body).id, []);
      });
    },
  });
}

/** Rows are found by their number. */
function distinctRows(rows: readonly Pick<BatchRow, "n" | "cells">[]): BatchRow[] {
  const numbers = new Set(rows.map(({ n }) => n));
  if (numbers.size < rows.length) {
    const message = "Send each row number once.";
    throw Refusal.of([{ field: "batch.rows", code: "record_invalid", message }]);
  }
  return rows.map(({ n, cells }) => {
    return { n, cells: withoutBlanks(cells), is_excluded: false, is_acknowledged: false };
  });
}

function fitting(rows: BatchRow[]): BatchRow[] {
  const problems = sizeProblems(rows);
  if (problems.length > 0) throw Refusal.of(problems);
  return rows;
}

function withoutBlanks(cells: BatchRow["cells"]): BatchRow["cells"] {
  const given = Object.entries(cells).map(([name, text]) => [name, text.trim()]);
  return Object.fromEntries(given.filter(([, text]) => text !== ""));
}

function addChangeRoutes(addRoute: AddRoute, deps: BatchDeps): void {
  const { executor, keyring } = deps;
  const submit = executor.register(changeBatches(keyring));
  addRoute({
    ...SHARED,
    method: "PATCH",
    path: `${PATH}/:batch_id`,
    operation: "changeBatch",
    summary: "Change rows of a payout batch",
    description: "Changes cells, excludes rows, acknowledges duplicates; then checks all rows.",
    body: ChangeBatchBody,
    body_example: NO_EXAMPLE,
    body_bytes_max: BODY_BYTES_MAX,
    errors: ["invalid_transition"],
    handle: async ({ caller: { account_id }, params: { batch_id }, body, problems, command }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const { rows = [], is_file_acknowledged } = body.batch ?? {};
      const changes = new Map((rows as RowChange[]).map((row) => [row.n, row]));
      const change = (batch: Batch, quote: Quote | undefined, now: Date) => {
        if (!isEditable(batch, quote, now)) throw notEditable();
        const draft = asDraft(batch);
        const content = {
          ...draft.content,
          rows: fitting(draft.content.rows.map((row) => changeRow(row, changes.get(row.n)))),
          is_file_acknowledged: is_file_acknowledged ?? draft.content.is_file_acknowledged,
        };
        return { ...draft, content };
      };
      return inBatchTurn(account_id, async () => {
        await submit(command({ batch_id, action: "change" as const, change }));
        return show(deps, account_id, batch_id, []);
      });
    },
  });

  addRoute({
    ...SHARED,
    method: "DELETE",
    path: `${PATH}/:batch_id`,
    operation: "deleteBatch",
    summary: "Delete a payout batch",
    description: "Payouts that were created of it stay.",
    errors: [],
    handle: ({ caller, params: { batch_id }, problems, command }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const asked = command({ batch_id, action: "delete" as const, change: () => null });
      return inBatchTurn(caller.account_id, () => submit(asked));
    },
  });
}

type RowChange = { n: number } & Partial<BatchRow>;

/** A changed cell is looked at again: what was acknowledged was about the earlier one. */
function changeRow(row: BatchRow, change: RowChange | undefined): BatchRow {
  if (!change) return row;
  const { cells, is_excluded, is_acknowledged } = change;
  return {
    n: row.n,
    cells: cells ? withoutBlanks({ ...row.cells, ...cells }) : row.cells,
    is_excluded: is_excluded ?? row.is_excluded,
    is_acknowledged: is_acknowledged ?? (cells ? false : row.is_acknowledged),
  };
}

function notEditable(): Refusal {
  const message =
    "Payouts of this batch are waiting in a quote. Rows can be changed when the quote has expired.";
  return Refusal.of([{ field: "batch_id", code: "invalid_transition", message }]);
}

function addCreateRoute(addRoute: AddRoute, deps: BatchDeps): void {
  const createPayouts = openCreatePayouts(deps);
  addRoute({
    ...SHARED,
    method: "POST",
    path: `${PATH}/:batch_id/payouts`,
    operation: "createBatchPayouts",
    summary: "Create the payouts of a batch",
    description:
      "One step: bank accounts, the quote, or a part of the payouts. Repeat it until the status " +
      "is `created`. The digest says what was shown to whoever decides.",
    body: CreatePayoutsBody,
    body_example: NO_EXAMPLE,
    errors: ["invalid_transition", "quote_expired", "limit_exceeded"],
    handle: async ({ caller: { account_id }, params: { batch_id }, body, problems, command }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      return inBatchTurn(account_id, async () => {
        const { batch, is_editable } = await load(deps, account_id, batch_id, []);
        const is_expired = is_editable && batch.quote_id !== null;
        await createPayouts({ batch, is_expired, digest: body.digest ?? "", command });
        return renderStarted(await load(deps, account_id, batch_id, []), {});
      });
    },
  });
}

async function show(
  deps: BatchDeps,
  account_id: string,
  id: string,
  problems: readonly Problem[],
): Promise<string> {
  const { batch, is_editable } = await load(deps, account_id, id, problems);
  if (batch.status === "draft" || (is_editable && batch.quote_id !== null)) {
    return renderDraft(batch, await checkBatch(deps, batch));
  }
  const { quote_id } = batch;
  const counts = quote_id ? await countByStatus(deps.database, account_id, quote_id) : {};
  return renderStarted({ batch, is_editable }, counts);
}

async function load(
  { database, keyring, clock }: BatchDeps,
  account_id: string,
  id: string,
  problems: readonly Problem[],
): Promise<{ batch: Batch; is_editable: boolean }> {
  const record = await findBatch(database, { account_id, id });
  const keys = record && (await keyring.openUserKeys(database, [record]));
  const key = keys?.get(account_id, record!.user_id);
  if (!record || !key) throw Refusal.of([...problems, notFound("batch_id")]);
  if (problems.length > 0) throw Refusal.of(problems);
  const batch = toBatch(record, key);
  const { quote_id } = batch;
  const [quote] = quote_id ? await findQuotes(database, [{ account_id, id: quote_id }]) : [];
  return { batch, is_editable: isEditable(batch, quote, clock.now()) };
}
