import {
  ActionIcon,
  Alert,
  Button,
  Group,
  Select,
  SimpleGrid,
  Stack,
  Textarea,
  TextInput,
} from "@mantine/core";
import { type FieldError, type NewInvoice as InvoiceBody, SliproadError } from "@sliproad/sdk";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { api, messageOf, queries } from "../../api.ts";
import { Amount } from "../../parts/amount.tsx";
import { BackLink } from "../../parts/back-link.tsx";
import { Icon } from "../../parts/icons.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import {
  CHAINS,
  CURRENCIES,
  type Draft,
  EMPTY_DRAFT,
  EMPTY_ITEM,
  type Item,
  isShown,
  remaining,
  sayProblem,
  toInvoice,
  totalsOf,
  unreadable,
} from "./draft.ts";

type Problem = (field: string) => string | undefined;

/** Writes an invoice beside the sums that it comes to. */
export function NewInvoice() {
  const [draft, setDraft] = useState<Draft>(EMPTY_DRAFT);
  const [, navigate] = useLocation();
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }));
  const creating = useMutation({
    mutationFn: (invoice: InvoiceBody) => api.invoices.create(invoice),
    onSuccess: (invoice) => {
      queries.invalidateQueries({ queryKey: ["invoices"] });
      navigate(`/invoices/${invoice.id}`);
    },
  });
  const { error, variables: sent } = creating;
  const refused = error instanceof SliproadError ? error.errors : [];
  const unread = unreadable(draft);
  const problems = [...unread, ...remaining(refused, sent, toInvoice(draft, true))];
  const create = (convert: boolean) => {
    if (unread.length === 0) creating.mutate(toInvoice(draft, convert));
  };
  const problemOf: Problem = (field) => {
    const found = problems.find((one) => one.field === field);
    return found && sayProblem(found);
  };
  return (
    <>
      <BackLink name="Invoices" path="/invoices" />
      <PageHead title="New invoice" />
      <div className="detail">
        <Sums draft={draft} />
        <Stack className="card form">
          <Parties draft={draft} set={set} problemOf={problemOf} />
          <Items draft={draft} set={set} problemOf={problemOf} />
          <Payment draft={draft} set={set} problemOf={problemOf} />
          <Textarea
            label="Note"
            value={draft.note}
            onChange={(event) => set({ note: event.currentTarget.value })}
          />
          {error && refused.length === 0 && (
            <Alert color="red" variant="light" role="alert">
              {messageOf(error)}
            </Alert>
          )}
          {problems.length > 0 && <Problems problems={problems} />}
          <Group justify="flex-end">
            <Button
              variant="default"
              loading={creating.isPending && sent?.convert === false}
              onClick={() => create(false)}
            >
              Save as draft
            </Button>
            <Button
              loading={creating.isPending && sent?.convert === true}
              onClick={() => create(true)}
            >
              Send invoice
            </Button>
          </Group>
        </Stack>
      </div>
    </>
  );
}

/** How many fields to correct; in words only what stands beside no field. */
function Problems({ problems }: { problems: readonly FieldError[] }) {
  const count = problems.filter(isShown).length;
  return (
    <Alert color="red" variant="light" role="alert">
      {count > 0 && (count === 1 ? "Correct the marked field." : `Correct ${count} marked fields.`)}
      {problems
        .filter((problem) => !isShown(problem))
        .map((problem) => (
          <div key={problem.field}>{problem.message}</div>
        ))}
    </Alert>
  );
}

type PartProps = { draft: Draft; set: (change: Partial<Draft>) => void; problemOf: Problem };

function Parties({ draft, set, problemOf }: PartProps) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <TextInput
        label="Number"
        placeholder="2026-0117"
        value={draft.number}
        error={problemOf("invoiceNumber")}
        onChange={(event) => set({ number: event.currentTarget.value })}
      />
      <Select
        label="Currency"
        data={CURRENCIES}
        searchable
        allowDeselect={false}
        value={draft.currency}
        onChange={(next) => set({ currency: next ?? "USD" })}
      />
      <TextInput
        label="E-mail of the buyer"
        type="email"
        value={draft.email}
        error={problemOf("buyerInfo.email")}
        onChange={(event) => set({ email: event.currentTarget.value })}
      />
      <TextInput
        label="Name of the buyer"
        value={draft.name}
        error={problemOf("buyerInfo.businessName")}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <TextInput
        label="Due"
        type="date"
        value={draft.due}
        error={problemOf("paymentTerms.dueDate")}
        onChange={(event) => set({ due: event.currentTarget.value })}
      />
    </SimpleGrid>
  );
}

function Items({ draft, set, problemOf }: PartProps) {
  const change = (at: number, to: Partial<Item>) =>
    set({ items: draft.items.map((item, place) => (place === at ? { ...item, ...to } : item)) });
  return (
    <fieldset className="items">
      <legend>Items</legend>
      {draft.items.map((item, at) => (
        <div className="item" key={item.key}>
          <TextInput
            label="What"
            value={item.name}
            error={problemOf(`invoiceItems[${at}].name`)}
            onChange={(event) => change(at, { name: event.currentTarget.value })}
          />
          <TextInput
            label="Quantity"
            inputMode="decimal"
            value={item.quantity}
            error={problemOf(`invoiceItems[${at}].quantity`)}
            onChange={(event) => change(at, { quantity: event.currentTarget.value })}
          />
          <TextInput
            label="Price"
            inputMode="decimal"
            placeholder="99.90"
            value={item.price}
            error={problemOf(`invoiceItems[${at}].unitPrice`)}
            onChange={(event) => change(at, { price: event.currentTarget.value })}
          />
          <TextInput
            label="Tax %"
            inputMode="decimal"
            value={item.tax}
            error={problemOf(`invoiceItems[${at}].tax.amount`)}
            onChange={(event) => change(at, { tax: event.currentTarget.value })}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Remove item ${at + 1}`}
            disabled={draft.items.length === 1}
            onClick={() => set({ items: draft.items.filter((one) => one !== item) })}
          >
            <Icon name="close" size={16} />
          </ActionIcon>
        </div>
      ))}
      <Button
        variant="default"
        size="compact-sm"
        onClick={() => set({ items: [...draft.items, { ...EMPTY_ITEM, key: Date.now() }] })}
      >
        Add an item
      </Button>
    </fieldset>
  );
}

const WAYS = [
  { value: "iban", label: "Bank account by IBAN" },
  { value: "number", label: "Bank account by number and routing number" },
  { value: "wallet", label: "Wallet" },
];
const OPTION = "paymentOptions[0].value.paymentInformation";
/** What the API names where no account is given at all. */
const NO_ACCOUNT = `${OPTION}.paymentDetailId`;

function Payment({ draft, set, problemOf }: PartProps) {
  const text = (name: "holder" | "iban" | "account" | "routing" | "address") => ({
    value: draft[name],
    onChange: (event: React.ChangeEvent<HTMLInputElement>) =>
      set({ [name]: event.currentTarget.value }),
  });
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <Select
        label="How you are paid"
        data={WAYS}
        allowDeselect={false}
        value={draft.way}
        onChange={(next) => set({ way: (next ?? "iban") as Draft["way"] })}
      />
      {draft.way === "wallet" ? (
        <>
          <Select
            label="Chain"
            data={CHAINS}
            allowDeselect={false}
            value={draft.chain}
            onChange={(next) => set({ chain: next ?? "polygon" })}
          />
          <TextInput
            label="Address"
            error={problemOf(`${OPTION}.paymentAddress`)}
            {...text("address")}
          />
        </>
      ) : (
        <TextInput label="Holder" error={problemOf(`${OPTION}.accountName`)} {...text("holder")} />
      )}
      {draft.way === "iban" && (
        <TextInput
          label="IBAN"
          error={problemOf(`${OPTION}.iban`) ?? problemOf(NO_ACCOUNT)}
          {...text("iban")}
        />
      )}
      {draft.way === "number" && (
        <>
          <TextInput
            label="Account number"
            error={problemOf(`${OPTION}.accountNumber`) ?? problemOf(NO_ACCOUNT)}
            {...text("account")}
          />
          <TextInput
            label="Routing number"
            error={problemOf(`${OPTION}.routingNumber`)}
            {...text("routing")}
          />
        </>
      )}
    </SimpleGrid>
  );
}

function Sums({ draft }: { draft: Draft }) {
  const { net, tax, total } = totalsOf(draft);
  const rows = [
    ["Without tax", net],
    ["Tax", tax],
    ["Total", total],
  ] as const;
  return (
    <div className="detail-side">
      <section className="card facts" aria-label="Sums">
        <h2>{draft.number || "Invoice"}</h2>
        <p className="quiet">To {draft.name || draft.email || "nobody yet"}</p>
        <dl className="progress">
          {rows.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <Amount value={value} currency={draft.currency.toLowerCase()} />
              </dd>
            </div>
          ))}
        </dl>
        <p className="quiet">The service computes the sums again and rounds each line.</p>
      </section>
    </div>
  );
}
