import { Select, SimpleGrid } from "@mantine/core";
import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../api.ts";
import { ActDialog } from "../../parts/act-dialog.tsx";
import { chainName } from "../../parts/chain-name.ts";
import { PersonSelect } from "../../parts/person-select.tsx";

const TOKENS = [
  { value: "usdc", label: "USDC" },
  { value: "usdt", label: "USDT" },
];
const CHAINS = ["polygon", "ethereum", "arbitrum", "base", "tron", "solana"].map((value) => {
  return { value, label: chainName(value) };
});

/** Locks the rates for the payouts of one payer. */
export function NewQuoteDialog({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation();
  const [user_id, setUser] = useState<string | null>(null);
  const [token, setToken] = useState<string | null>("usdc");
  const [chain, setChain] = useState<string | null>("polygon");
  const isComplete = user_id && token && chain;
  return (
    <ActDialog
      title="New quote"
      act="Lock the rates"
      changes={["payouts"]}
      onClose={onClose}
      send={
        isComplete
          ? async (idempotency_key) => {
              const terms = { deposit_token: token, deposit_token_chain: chain };
              const { quote } = await api.quotes.create(user_id, terms, { idempotency_key });
              navigate(`/quotes/${quote.id}`);
              return undefined;
            }
          : null
      }
    >
      <PersonSelect label="Payer" value={user_id} onChange={setUser} />
      <SimpleGrid cols={2}>
        <Select label="Coin" data={TOKENS} value={token} onChange={setToken} />
        <Select label="Chain" data={CHAINS} value={chain} onChange={setChain} />
      </SimpleGrid>
    </ActDialog>
  );
}
