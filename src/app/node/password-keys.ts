/** The keys of the MACs in passwords, newest first, as the shop sent them last. */
export class PasswordKeys {
  current: readonly Uint8Array[] = []
  onChanged: (keys: readonly Uint8Array[]) => void = () => {}
  private sent = ''

  use(keys: readonly string[]): void {
    if (keys.join() === this.sent) return
    this.sent = keys.join()
    this.current = keys.map((key) => Uint8Array.fromHex(key))
    this.onChanged(this.current)
  }
}
