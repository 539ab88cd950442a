// The method of conjugate gradients for H x = b with H symmetric and positive definite, whatever holds its vectors.
//
// The caller keeps x, the residual r = b - H x and the direction d, which starts as M r for a preconditioner M, and says
//   bend()       d'Hd
//   step(alpha)  x += alpha d, r -= alpha H d; gives r'M r there, or 0 where that is near enough
//   turn(beta)   d = M r + beta d
// beside rho = r'M r at the start. Gives the number of steps, `most` at most.
//
// Hestenes, Stiefel, Methods of conjugate gradients for solving linear systems (J. Res. NBS 49, 1952).
#pragma once

#include "core/base/interrupt.hpp"

namespace tallywise::linear {

template <class Bend, class Step, class Turn>
int conjugate_gradients(double rho, int most, Bend&& bend, Step&& step, Turn&& turn) {
    for (int steps = 0; steps < most && rho > 0; ++steps) {
        check_interrupt();
        double const along = bend();
        if (!(along > 0)) return steps;
        double const next = step(rho / along);
        if (!(next > 0)) return steps + 1;
        turn(next / rho);
        rho = next;
    }
    return rho > 0 ? most : 0;
}

}  // namespace tallywise::linear
