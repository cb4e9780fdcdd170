import { Alert, Button, Checkbox, Group, Modal, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { messageOf, queries, tell } from "../../../api.ts";
import { useNames } from "../../../names.ts";
import { ActDialog } from "../../../parts/act-dialog.tsx";
import { Amount } from "../../../parts/amount.tsx";
import { PageHead } from "../../../parts/page-head.tsx";
import { type BatchChange, type CreatePayouts, changeBatch, type Draft } from "./batch.ts";
import { countRows } from "./count-rows.ts";
import { CorrectedFile, saveErrors } from "./errors-file.tsx";
import { BatchRows } from "./rows.tsx";

/** All rows with what is wrong in each cell; nothing is created before it is right. */
export function CheckBatch({ draft, create }: { draft: Draft; create: CreatePayouts }) {
  const { batch } = draft;
  const [isAsking, setAsking] = useState(false);
  const change = useMutation({
    mutationFn: (changes: BatchChange) => changeBatch(batch.id, changes),
  });
  const error = change.error ?? create.error;
  const wrong = draft.rows.filter((row) => !row.is_excluded && !row.is_ready);
  const leaveOut = () => {
    change.mutate({ rows: wrong.map(({ n }) => ({ n, is_excluded: true })) });
  };
  return (
    <>
      <PageHead title={batch.file_name}>
        <DeleteBatch batch={batch} />
        <Button disabled={!draft.is_ready} onClick={() => setAsking(true)}>
          Create payouts
        </Button>
      </PageHead>
      <Stack>
        <section className="card batch-bar" aria-label="Check">
          <Counts draft={draft} />
          <Group gap="xs">
            {wrong.length > 0 && (
              <>
                <Button size="xs" variant="default" onClick={() => saveErrors(draft)}>
                  Download errors.csv
                </Button>
                <CorrectedFile draft={draft} onRows={(rows) => change.mutate({ rows })} />
                <Button size="xs" variant="default" onClick={leaveOut} loading={change.isPending}>
                  Exclude {countRows(wrong.length)}
                </Button>
              </>
            )}
          </Group>
        </section>
        <Notes draft={draft} onChange={change.mutate} />
        {error && (
          <Alert color="red" variant="light" role="alert">
            {messageOf(error)}
          </Alert>
        )}
        <BatchRows draft={draft} onChange={(row) => change.mutate({ rows: [row] })} />
      </Stack>
      {isAsking && <CreateDialog {...{ draft, create }} onClose={() => setAsking(false)} />}
    </>
  );
}

function Counts({ draft: { rows, sums } }: { draft: Draft }) {
  const included = rows.filter((row) => !row.is_excluded);
  const errors = included.flatMap(({ problems }) =>
    problems.filter(({ severity }) => severity === "error"),
  ).length;
  const ready = included.filter((row) => row.is_ready).length;
  const open = included.length - ready;
  return (
    <p className="batch-counts" role="status">
      <strong className={errors > 0 ? "bad" : "good"}>
        {errors === 0 ? "No errors" : `${errors} ${errors === 1 ? "error" : "errors"}`}
      </strong>
      {errors === 0 && open > 0 && <span>{open} to acknowledge</span>}
      <span>{ready} ready</span>
      {rows.length > included.length && <span>{rows.length - included.length} excluded</span>}
      {sums.map(({ currency, amount }) => (
        <Amount key={currency} value={amount} currency={currency} />
      ))}
    </p>
  );
}

function Notes(props: { draft: Draft; onChange: (change: BatchChange) => void }) {
  const { draft, onChange } = props;
  return draft.notes.map(({ code, message, severity }) => (
    <Alert key={code} color={severity === "error" ? "red" : "yellow"} variant="light">
      <Text size="sm">{message}</Text>
      {severity === "duplicate" && (
        <Checkbox
          mt="xs"
          label="I know, these are other payouts"
          checked={draft.batch.is_file_acknowledged}
          onChange={(event) => onChange({ is_file_acknowledged: event.currentTarget.checked })}
        />
      )}
    </Alert>
  ));
}

function CreateDialog(props: { draft: Draft; create: CreatePayouts; onClose: () => void }) {
  const { draft, create, onClose } = props;
  const { batch, sums, token_amount } = draft;
  const included = draft.rows.filter((row) => !row.is_excluded);
  const fresh = included.filter((row) => row.payee === "new").length;
  const payer = useNames({ users: [batch.user_id] }).users[batch.user_id]?.name ?? "the payer";
  const act = `Create ${included.length} ${included.length === 1 ? "payout" : "payouts"}`;
  return (
    <Modal opened onClose={onClose} title={act} size="lg">
      <Stack>
        <dl className="batch-sums">
          {sums.map(({ currency, amount, count }) => (
            <div key={currency}>
              <dt>{count === 1 ? "1 payout" : `${count} payouts`}</dt>
              <dd>
                <Amount value={amount} currency={currency} />
              </dd>
            </div>
          ))}
          <div>
            <dt>Costs about, with fees</dt>
            <dd>
              <Amount value={token_amount} currency={batch.deposit_token} />
            </dd>
          </div>
        </dl>
        <Text size="sm">
          {fresh > 0 && sayNew(fresh)}
          The payouts of {payer} wait in a quote with locked rates. Nothing is paid until you pay
          for the quote.
        </Text>
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            loading={create.isPending}
            onClick={() => create.mutate(batch.digest, { onSettled: onClose })}
          >
            {act}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function sayNew(count: number): string {
  return count === 1
    ? "1 row pays a bank account that is new; it is registered first. "
    : `${count} rows pay bank accounts that are new; they are registered first. `;
}

function DeleteBatch({ batch: { id, file_name } }: Pick<Draft, "batch">) {
  const [isAsking, setAsking] = useState(false);
  const [, navigate] = useLocation();
  const remove = async () => {
    await tell(`/batches/${id}`, {}, "DELETE");
    return undefined;
  };
  const onDone = () => {
    navigate("/payouts/batches", { replace: true });
    queries.removeQueries({ queryKey: ["batch", id] });
  };
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)}>
        Delete file
      </Button>
      {isAsking && (
        <ActDialog
          title="Delete the file"
          act="Delete"
          is_dangerous
          changes={["batches"]}
          send={remove}
          onDone={onDone}
          onClose={() => setAsking(false)}
        >
          <Text>
            {file_name} and every correction of its rows are deleted. No payout was created from it.
          </Text>
        </ActDialog>
      )}
    </>
  );
}
