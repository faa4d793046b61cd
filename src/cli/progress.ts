/** On a terminal, one line that tells how far it has come. */
export function showProgress(name: string): { readonly tell: (done: number) => void; readonly end: () => void } {
  if (!process.stderr.isTTY) return { tell: () => {}, end: () => {} }
  const write = (text: string): void => void process.stderr.write(`\r\x1b[K${text}`)
  write(`${name} …`)
  return { tell: (done) => write(`${name} … ${done}`), end: () => write('') }
}
