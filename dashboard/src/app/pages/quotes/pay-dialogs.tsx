import { Button, Group, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api.ts";
import { ActDialog } from "../../parts/act-dialog.tsx";
import { Amount } from "../../parts/amount.tsx";
import { chainName } from "../../parts/chain-name.ts";
import { ProblemAlert } from "../../parts/form-dialog.tsx";
import { formatAmount } from "../../parts/format-amount.ts";
import { session } from "../../session.ts";
import { nameOfPayer, type QuoteOnPage } from "./quote.ts";

type DialogProps = { shown: QuoteOnPage; onClose: () => void };

const CHANGES = ["payouts", "payout", "overview", "person"];

/** Names the transfer that pays for the quote. */
export function ExecuteDialog({ shown, onClose }: DialogProps) {
  const { quote } = shown;
  const [tx_id, setTransfer] = useState("");
  const [network, setNetwork] = useState("mainnet");
  const transfer = { tx_id: tx_id.trim(), blockchain: quote.deposit_token_chain, network };
  return (
    <ActDialog
      title="Name the transfer"
      act={`Pay ${shown.payouts} ${shown.payouts === 1 ? "payee" : "payees"}`}
      changes={CHANGES}
      onClose={onClose}
      send={
        transfer.tx_id && network
          ? (idempotency_key) =>
              api.quotes.execute(quote.user_id, quote.id, transfer, { idempotency_key })
          : null
      }
    >
      <Cost shown={shown} />
      <Text size="sm">
        Send exactly this amount to the address of the quote. The payouts begin when the chain
        confirms the transfer.
      </Text>
      <TextInput
        label="Id of the transaction"
        value={tx_id}
        onChange={(event) => setTransfer(event.currentTarget.value)}
        data-autofocus
      />
      <TextInput
        label="Network"
        value={network}
        onChange={(event) => setNetwork(event.currentTarget.value)}
      />
      {session.mode === "sandbox" && (
        <Group>
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => setTransfer(inventTransfer(quote.deposit_token_chain))}
          >
            Sandbox: invent a transfer
          </Button>
        </Group>
      )}
    </ActDialog>
  );
}

/** Pays with what is owed to the payer. */
export function FundDialog({ shown, onClose }: DialogProps) {
  const { quote } = shown;
  const { data, error } = useQuery({
    queryKey: ["person", quote.user_id, "balances"],
    queryFn: () => api.balances.list(quote.user_id),
  });
  const balance = data?.find(
    ({ currency, chain }) =>
      currency === quote.deposit_token && chain === quote.deposit_token_chain,
  );
  const token = quote.deposit_token.toUpperCase();
  const amount = formatAmount(balance?.amount ?? 0, quote.deposit_token);
  return (
    <ActDialog
      title="Pay from the balance"
      act="Pay from the balance"
      changes={CHANGES}
      onClose={onClose}
      send={(idempotency_key) => api.quotes.fund(quote.user_id, quote.id, { idempotency_key })}
    >
      <Cost shown={shown} />
      <ProblemAlert error={error} />
      {data && (
        <Text size="sm">
          {nameOfPayer(shown)} has {amount} {token} on {chainName(quote.deposit_token_chain)}. Where
          that is less, all of it is set aside and the payouts wait for the rest.
        </Text>
      )}
    </ActDialog>
  );
}

function Cost({ shown: { quote, missing, payouts } }: { shown: QuoteOnPage }) {
  return (
    <div className="subject">
      <div>
        <div className="strong">
          {payouts} {payouts === 1 ? "payout" : "payouts"}
        </div>
        <div className="quiet">on {chainName(quote.deposit_token_chain)}</div>
      </div>
      <Amount value={missing} currency={quote.deposit_token} />
    </div>
  );
}

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** The sandbox's chain knows every transfer; it pays exactly. */
function inventTransfer(chain: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(chain === "solana" ? 87 : 32));
  if (chain === "solana") return [...bytes].map((byte) => BASE58[byte % 58]).join("");
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return chain === "tron" ? hex : `0x${hex}`;
}
