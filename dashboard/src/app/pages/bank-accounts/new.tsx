import { Alert, Button, Group, NativeSelect, TextInput } from "@mantine/core";
import { SliproadError } from "@sliproad/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { api, messageOf, queries } from "../../api.ts";
import { BackLink } from "../../parts/back-link.tsx";
import { useFilters } from "../../parts/filters.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { PersonSelect } from "../../parts/person-select.tsx";
import { Failure, Loading } from "../../parts/states.tsx";

type Requirement = Awaited<ReturnType<typeof api.paymentDetails.requirements>>[number];
type Field = Requirement["fields"][number];

/** Chosen above the form, not typed into it. */
const CHOSEN = ["currency", "rails", "beneficiary_type"];

/** Registers where a person or company is paid, with the fields that the payment needs. */
export function NewBankAccount() {
  const { filters, setFilter } = useFilters();
  return (
    <>
      <BackLink name="Bank accounts" path="/bank-accounts" />
      <PageHead title="Add a bank account" />
      <PersonSelect
        label="Who is it for?"
        value={filters.user_id ?? null}
        onChange={(id) => setFilter("user_id", id)}
      />
      {filters.user_id && <Choices user_id={filters.user_id} />}
    </>
  );
}

function Choices({ user_id }: { user_id: string }) {
  const [currency, setCurrency] = useState("eur");
  const [rails, setRails] = useState("local");
  const [type, setType] = useState<Requirement["beneficiary_type"]>("individual");
  const { data, error, refetch } = useQuery({
    queryKey: ["requirements"],
    queryFn: () => api.paymentDetails.requirements(),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error && !data) return <Failure error={error} onRetry={refetch} />;
  if (!data) return <Loading />;
  const currencies = [...new Set(data.map((row) => row.currency))];
  const offered = [
    ...new Set(data.filter((row) => row.currency === currency).map((row) => row.rails)),
  ];
  const rail = offered.find((one) => one === rails) ?? offered[0];
  const row = data.find(
    (one) => one.currency === currency && one.rails === rail && one.beneficiary_type === type,
  );
  const inCapitals = (value: string) => ({ value, label: value.toUpperCase() });
  return (
    <div className="card form-card">
      <div className="form-grid">
        <NativeSelect
          label="Currency"
          value={currency}
          data={currencies.map(inCapitals)}
          onChange={({ currentTarget }) => setCurrency(currentTarget.value)}
        />
        <NativeSelect
          label="Rail"
          value={rail ?? ""}
          data={offered.map(inCapitals)}
          onChange={({ currentTarget }) => setRails(currentTarget.value)}
        />
        <NativeSelect
          label="Holder"
          value={type}
          data={[
            { value: "individual", label: "A person" },
            { value: "business", label: "A company" },
          ]}
          onChange={({ currentTarget }) =>
            setType(currentTarget.value as Requirement["beneficiary_type"])
          }
        />
      </div>
      {row && <DetailForm key={`${currency} ${rail} ${type}`} {...{ user_id, row }} />}
    </div>
  );
}

function DetailForm({ user_id, row }: { user_id: string; row: Requirement }) {
  const [, navigate] = useLocation();
  const [values, setValues] = useState<Record<string, string>>({});
  const typed = row.fields.filter(({ name }) => !CHOSEN.includes(name));
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => {
      const given = Object.entries(values).filter(([, value]) => value.trim() !== "");
      const { currency, rails, beneficiary_type } = row;
      const fields = { ...Object.fromEntries(given), currency, rails, beneficiary_type };
      return api.paymentDetails.create(
        user_id,
        fields as Parameters<typeof api.paymentDetails.create>[1],
      );
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["bank-accounts"] });
      await queries.invalidateQueries({ queryKey: ["person", user_id] });
      navigate("/bank-accounts");
    },
  });
  const problems = error instanceof SliproadError ? error.errors : [];
  const problemOf = (name: string) =>
    problems.find(({ field }) => field === `payment_detail.${name}`)?.message;
  const isShown = problems.some(({ field }) =>
    typed.some(({ name }) => field === `payment_detail.${name}`),
  );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        mutate();
      }}
    >
      <div className="form-grid">
        {typed.map((field) => (
          <TextInput
            key={field.name}
            label={labelOf(field.name)}
            description={describe(field, row)}
            placeholder={field.example}
            withAsterisk={field.required}
            maxLength={field.max_length}
            value={values[field.name] ?? ""}
            error={problemOf(field.name)}
            onChange={({ currentTarget }) =>
              setValues({ ...values, [field.name]: currentTarget.value })
            }
          />
        ))}
      </div>
      {error && !isShown && (
        <Alert color="red" variant="light" role="alert" mt="md">
          {messageOf(error)}
        </Alert>
      )}
      <Group justify="flex-end" mt="md">
        <Button type="submit" loading={isPending}>
          Add the bank account
        </Button>
      </Group>
    </form>
  );
}

function describe({ name, description, required }: Field, { one_of }: Requirement): string {
  const sets = one_of.filter((set) => set.includes(name as (typeof set)[number]));
  const others = one_of.filter((set) => !set.includes(name as (typeof set)[number]));
  const text = description.charAt(0).toUpperCase() + description.slice(1);
  if (required || sets.length === 0 || others.length === 0) return text;
  return `${text}, or else ${others.map((set) => set.map(labelOf).join(" and ")).join(", or ")}`;
}

const NAMES: Readonly<Record<string, string>> = {
  iban: "IBAN",
  swift_bic: "SWIFT/BIC",
  rib_number: "RIB",
  bsb_number: "BSB",
  ifsc: "IFSC",
  ncc: "NCC",
  account_name: "Account holder",
};

function labelOf(name: string): string {
  const words = name.replaceAll("_", " ").replace(/(\d)$/, " $1");
  return NAMES[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
}
