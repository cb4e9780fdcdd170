import { useParams } from "wouter";
import { BankAccountList } from "./list.tsx";
import { NewBankAccount } from "./new.tsx";

export default function BankAccountsPage() {
  const { action } = useParams<{ action?: string }>();
  return action === "new" ? <NewBankAccount /> : <BankAccountList />;
}
