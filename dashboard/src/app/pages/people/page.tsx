import { useParams } from "wouter";
import { PersonDetail } from "./detail.tsx";
import { PeopleList } from "./list.tsx";

export default function PeoplePage() {
  const { id } = useParams<{ id?: string }>();
  return id ? <PersonDetail id={id} /> : <PeopleList />;
}
