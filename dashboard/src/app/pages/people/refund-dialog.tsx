import { Autocomplete, Select, Text, TextInput } from "@mantine/core";
import type { Balance } from "@sliproad/sdk";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api.ts";
import { ActDialog } from "../../parts/act-dialog.tsx";
import { chainName } from "../../parts/chain-name.ts";
import { formatAmount } from "../../parts/format-amount.ts";
import { ReasonInput } from "../../parts/reason-input.tsx";

type DialogProps = { user_id: string; balances: readonly Balance[]; onClose: () => void };

const OFFERED = 100;

/** Sends tokens that are owed to a person to an address of theirs. */
export function RefundDialog({ user_id, balances, onClose }: DialogProps) {
  const [at, setAt] = useState(0);
  const balance = balances[at]!;
  const { currency: token, chain } = balance;
  const [amount, setAmount] = useState(String(balance.amount));
  const [address, setAddress] = useState("");
  const [text, setText] = useState("");
  const addresses = useAddresses(user_id, chain);
  const reason = text.trim();
  const isComplete = amount.trim() && address.trim() && reason;
  const refund = { token, chain, amount: amount.trim(), address: address.trim() };
  return (
    <ActDialog
      title="Send back what is owed"
      act="Send back"
      is_dangerous
      changes={["person", "overview"]}
      send={
        isComplete
          ? (idempotency_key) => api.refunds.create(user_id, refund, { idempotency_key, reason })
          : null
      }
      onClose={onClose}
    >
      <Select
        label="From"
        data={balances.map((one, index) => ({ value: String(index), label: describe(one) }))}
        value={String(at)}
        allowDeselect={false}
        onChange={(next) => {
          const chosen = Number(next);
          setAt(chosen);
          setAmount(String(balances[chosen]!.amount));
          setAddress("");
        }}
      />
      <TextInput
        label={`Amount in ${token.toUpperCase()}`}
        description="The chain's network fee is taken from it."
        inputMode="decimal"
        value={amount}
        onChange={(event) => setAmount(event.currentTarget.value)}
      />
      <Autocomplete
        label={`Address on ${chainName(chain)}`}
        description="Offered: where the tokens came from, and what the person registered."
        data={addresses}
        value={address}
        onChange={setAddress}
      />
      <ReasonInput value={text} onChange={setText} />
      <Text size="sm" c="dimmed">
        To another address, or above the approval amount, other members must confirm it.
      </Text>
    </ActDialog>
  );
}

/** Where tokens on this chain may go without more questions. */
function useAddresses(user_id: string, chain: string): string[] {
  const { data } = useQuery({
    queryKey: ["person", user_id, "addresses"],
    queryFn: async () => {
      const [deposits, registered] = await Promise.all([
        api.balances.listCryptoDeposits(user_id, { limit: OFFERED }).page(),
        api.refundAddresses.list(user_id, { limit: OFFERED }).page(),
      ]);
      return [
        ...deposits.records.map((one) => ({ chain: one.chain, address: one.from })),
        ...registered.records.map((one) => ({ chain: one.chain, address: one.address })),
      ];
    },
  });
  const known = (data ?? []).flatMap((one) =>
    one.chain === chain && one.address ? [one.address] : [],
  );
  return [...new Set(known)];
}

function describe({ amount, currency, chain }: Balance): string {
  return `${formatAmount(amount, currency)} ${currency.toUpperCase()} on ${chainName(chain)}`;
}
