import { Alert, Button, FileInput, Group, Select, SimpleGrid, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { messageOf, queries, tell } from "../../../api.ts";
import { chainName } from "../../../parts/chain-name.ts";
import { toCsv } from "../../../parts/csv.ts";
import { newKey } from "../../../parts/new-key.ts";
import { PageHead } from "../../../parts/page-head.tsx";
import { PersonSelect } from "../../../parts/person-select.tsx";
import { saveFile } from "../../../parts/save-file.ts";
import { findDateOrder, findFormat } from "../../../parts/written-values.ts";
import { type Draft, useBatches } from "./batch.ts";
import { CELLS, findMapping, keepMapping } from "./columns.ts";
import { countRows } from "./count-rows.ts";
import { ColumnMapping } from "./mapping.tsx";
import { FileProblem, type PayoutFile, readPayoutFile } from "./read-file.ts";
import { type Choices, missingChoice, toRows } from "./to-rows.ts";

/** The first step: whose payouts, paid with which coin, from which file with which columns. */
export function UploadBatch() {
  const [user_id, setUser] = useState<string | null>(null);
  const [coin, setCoin] = useState("usdc polygon");
  const [file, setFile] = useState<PayoutFile | null>(null);
  const [choices, setChoices] = useState<Choices | null>(null);
  const [, navigate] = useLocation();
  const [deposit_token, deposit_token_chain] = coin.split(" ");
  const read = useMutation({
    mutationFn: readPayoutFile,
    onSuccess: (found) => {
      setFile(found);
      setChoices(firstChoices(found));
    },
  });
  const store = useStoreBatch();
  const upload = useMutation({
    mutationFn: () => store({ user_id, deposit_token, deposit_token_chain }, file!, choices!),
    onSuccess: (draft) => {
      keepMapping(file!.headings, choices!.mapping);
      queries.setQueryData(["batch", draft.batch.id], draft);
      queries.invalidateQueries({ queryKey: ["batches"] });
      navigate(`/payouts/batches/${draft.batch.id}`, { replace: true });
    },
  });
  const missing = !user_id
    ? "Choose who pays."
    : choices
      ? missingChoice(choices)
      : "Choose a file.";
  const problem = read.error ?? upload.error;
  return (
    <>
      <nav aria-label="Back" className="back">
        <Link href="/payouts/batches">‹ Batches</Link>
      </nav>
      <PageHead title="New batch">
        <Button variant="default" onClick={saveTemplate}>
          Download a template
        </Button>
      </PageHead>
      <Stack className="batch-upload">
        <section className="card batch-form" aria-label="Batch">
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <PersonSelect label="Payer" value={user_id} onChange={setUser} />
            <CoinSelect value={coin} onChange={setCoin} />
            <FileInput
              label="File"
              placeholder="Choose a CSV file"
              accept=".csv,.txt,.tsv,text/csv"
              onChange={(chosen) => chosen && read.mutate(chosen)}
            />
          </SimpleGrid>
          <Text size="sm" c="dimmed" mt="sm">
            One row is one payout. Nothing is created before you have seen every problem.
          </Text>
        </section>
        {problem && (
          <Alert color="red" variant="light" role="alert">
            {problem instanceof FileProblem ? problem.message : messageOf(problem)}
          </Alert>
        )}
        {file && choices && <ColumnMapping {...{ file, choices }} onChange={setChoices} />}
        <Group justify="flex-end">
          {file && missing && <Text c="dimmed">{missing}</Text>}
          <Button
            disabled={missing !== null}
            loading={upload.isPending}
            onClick={() => upload.mutate()}
          >
            {file ? `Check ${countRows(file.rows.length)}` : "Check"}
          </Button>
        </Group>
      </Stack>
    </>
  );
}

/** It may have been stored although the answer was an error: what is sent again has its key. */
function useStoreBatch() {
  const sent = useRef({ text: "", key: "" });
  return (terms: object, file: PayoutFile, choices: Choices): Promise<Draft> => {
    const named = { file_name: file.name, file_hash: file.hash };
    const batch = { ...terms, ...named, rows: toRows(file, choices) };
    const text = JSON.stringify(batch);
    if (sent.current.text !== text) sent.current = { text, key: newKey() };
    return tell<Draft>("/batches", { batch }, "POST", sent.current.key);
  };
}

function CoinSelect({ value, onChange }: { value: string; onChange: (coin: string) => void }) {
  const { data, isPending, error } = useBatches();
  const coins = (data?.coins ?? []).map(({ token, chain }) => {
    const label = `${token.toUpperCase()} on ${chainName(chain)}`;
    return { value: `${token} ${chain}`, label };
  });
  return (
    <Select
      label="Paid with"
      data={coins}
      value={value}
      allowDeselect={false}
      disabled={isPending}
      placeholder={isPending ? "Loading" : ""}
      error={error && !data ? messageOf(error) : undefined}
      onChange={(next) => next && onChange(next)}
    />
  );
}

function firstChoices(file: PayoutFile): Choices {
  const mapping = findMapping(file.headings);
  const valuesOf = (name: "amount" | "date_of_birth") => {
    const at = mapping.indexOf(name);
    return at < 0 ? [] : file.rows.map(({ cells }) => cells[at] ?? "");
  };
  return {
    mapping,
    format: findFormat(valuesOf("amount")),
    dates: findDateOrder(valuesOf("date_of_birth")),
    currency: "",
    beneficiary_type: "",
  };
}

function saveTemplate(): void {
  const example = {
    ...{ amount: "1250.00", currency: "eur", reference: "Invoice 2026-11" },
    ...{ account_name: "Example Company", beneficiary_type: "business", country: "DE" },
    ...{ address_line1: "1 Sample Street", city: "Berlin", postal_code: "10115" },
    ...{ iban: "DE89370400440532013000", swift_bic: "COBADEFFXXX", bank_name: "Sample Bank" },
  };
  const labels = (Object.keys(example) as (keyof typeof example)[]).map(
    (name) => CELLS[name].label,
  );
  saveFile("payouts-template.csv", toCsv([labels, Object.values(example)]));
}
