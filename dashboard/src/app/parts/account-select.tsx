import { Select } from "@mantine/core";
import type { PaymentDetail } from "@sliproad/sdk";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api.ts";
import { search } from "../search.ts";
import { Failure, Loading } from "./states.tsx";

/** Offered before anything is typed; all others are found by their whole number or id. */
const NEWEST = 100;
const TEXT_LENGTH_MIN = 4;

type SelectProps = {
  label: string;
  placeholder: string;
  /** Whose accounts. */
  user_id: string;
  value: PaymentDetail | null;
  onChange: (detail: PaymentDetail | null) => void;
  isOffered?: (detail: PaymentDetail) => boolean;
  isDisabled: (detail: PaymentDetail) => boolean;
  /** After the name of the account. */
  noteOf: (detail: PaymentDetail) => string;
};

/** Chooses a bank account of a person. */
export function AccountSelect(props: SelectProps) {
  const { user_id, value, onChange, isOffered = () => true } = props;
  const [typed, setTyped] = useState("");
  const text = typed.trim();
  const newest = useQuery({
    queryKey: ["bank-accounts", user_id],
    queryFn: () => api.paymentDetails.list(user_id, { limit: NEWEST }).page(),
  });
  const found = useQuery({
    queryKey: ["bank-accounts", user_id, "search", text],
    queryFn: () => find(user_id, text),
    // All are offered already where there are no more.
    enabled: newest.data?.has_more === true && text.length >= TEXT_LENGTH_MIN,
  });
  if (newest.isPending) return <Loading />;
  if (!newest.data) return <Failure error={newest.error} onRetry={() => newest.refetch()} />;
  const chosen = value ? [value] : [];
  const offered = [...chosen, ...(found.data ?? []), ...newest.data.records].filter(isOffered);
  const choices = new Map(offered.map((detail) => [detail.id, detail]));
  const found_ids = new Set(found.data?.map(({ id }) => id));
  const data = [...choices.values()].map((detail) => ({
    ...{ value: detail.id, label: nameOf(detail) + props.noteOf(detail) },
    disabled: props.isDisabled(detail),
  }));
  return (
    <Select
      label={props.label}
      placeholder={props.placeholder}
      searchable
      data-autofocus
      data={data}
      filter={({ options }) =>
        (options as typeof data).filter(
          (one) => found_ids.has(one.value) || one.label.toLowerCase().includes(text.toLowerCase()),
        )
      }
      value={value?.id ?? null}
      onChange={(id) => onChange((id && choices.get(id)) || null)}
      onSearchChange={setTyped}
      error={found.isError ? "The search did not work. Try again." : undefined}
      nothingFoundMessage={sayNothing(found.isFetching, newest.data.has_more)}
    />
  );
}

function sayNothing(is_fetching: boolean, has_more: boolean): string {
  if (is_fetching) return "Searching";
  return has_more
    ? `Not among the newest ${NEWEST}. Type the whole account number.`
    : "No such account";
}

/** By the whole number of the account, or its id. */
async function find(user_id: string, text: string): Promise<PaymentDetail[]> {
  const { hits } = await search(text);
  const own = hits.filter((hit) => hit.kind === "bank_account" && hit.user_id === user_id);
  return Promise.all(own.map(({ id }) => api.paymentDetails.show(user_id, id)));
}

function nameOf(detail: PaymentDetail): string {
  return `${detail.account_name} · ${detail.bank_name} ··${numberOf(detail).slice(-4)}`;
}

export function numberOf({ iban, account_number, rib_number }: PaymentDetail): string {
  return iban ?? account_number ?? rib_number ?? "";
}
