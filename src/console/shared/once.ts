import { useRef } from 'react'

/** Does something once at a time: a second press comes before the page has been drawn anew, so no state can tell. */
export function useOnce<Given extends readonly unknown[]>(work: (...given: Given) => Promise<unknown>) {
  const isRunning = useRef(false)
  return (...given: Given): void => {
    if (isRunning.current) return
    isRunning.current = true
    const end = () => {
      isRunning.current = false
    }
    void work(...given).then(end, end)
  }
}
