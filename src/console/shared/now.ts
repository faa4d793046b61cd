import { useEffect, useState } from 'react'

/** The time, looked at again every so often. */
export function useNow(everyMs = 30_000): number {
  const [nowAt, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return nowAt
}
