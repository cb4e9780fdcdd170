import { useParams } from "wouter";
import { PayoutDetail } from "./detail.tsx";
import { PayoutList } from "./list.tsx";

export default function PayoutsPage() {
  const { id } = useParams<{ id?: string }>();
  return id ? <PayoutDetail id={id} /> : <PayoutList />;
}
