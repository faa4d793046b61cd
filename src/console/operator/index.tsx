export default function Operator() {
  return <main>operator</main>
}
