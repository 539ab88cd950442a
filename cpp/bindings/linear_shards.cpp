// Sums over the rows of one shard, for fits whose rows lie on many machines.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bindings/views.hpp"
#include "core/scale/shard_rows.hpp"

namespace tallywise::bindings {

using namespace scale;

namespace {

std::vector<double> copied(Vector<double> const& values) { return {values.data(), values.data() + values.shape(0)}; }

// The rows, and the design's arrays that they look into.
struct BoundRows {
    std::vector<nb::object> owners;
    ShardRows rows;

    void require_offsets(Vector<double> const& b) const {
        require(b.size() == rows.offsets(), "There must be one offset per class or threshold.");
    }
    template <class M>
    void require_table(M const& W) const {
        require(W.shape(0) == rows.width() && W.shape(1) == rows.lanes(),
                "Weights must be a table of features by lanes.");
    }
};

nb::tuple offset_sums(BoundRows const& self, Vector<double> const& b, double t, bool derivatives) {
    self.require_offsets(b);
    OffsetSums sums;
    {
        nb::gil_scoped_release released;
        sums = self.rows.offset_sums(b.data(), t, derivatives);
    }
    std::size_t const B = sums.slope.size();
    return nb::make_tuple(sums.value, to_numpy(std::move(sums.slope)), to_numpy(std::move(sums.curvature), B, B));
}

double gradient(BoundRows const& self, Vector<double> const& b, MutableMatrix<double> const& G) {
    self.require_offsets(b);
    self.require_table(G);
    nb::gil_scoped_release released;
    return self.rows.gradient(b.data(), G.data());
}

void product(BoundRows const& self, Vector<double> const& b, Matrix<double> const& D, Vector<double> const& e,
             MutableMatrix<double> const& H, MutableVector<double> const& q) {
    self.require_offsets(b);
    self.require_offsets(e);
    self.require_table(D);
    self.require_table(H);
    if (q.shape(0) != self.rows.offsets()) throw std::invalid_argument("The offsets' slope has another length.");
    nb::gil_scoped_release released;
    self.rows.product(b.data(), D.data(), e.data(), H.data(), q.data());
}

}  // namespace

void bind_linear_shards(nb::module_& m) {
    m.def("row_loss_names", &SmoothRegistry::names, "Smooth scalar losses that sums over shards know by name.");
    nb::class_<BoundRows>(m, "ShardRows", "Rows of one shard, which give sums to a solver that holds the weights.")
        .def(
            "__init__",
            [](BoundRows* self, BoundDesign const& X, std::string const& loss, double parameter, std::size_t classes,
               Vector<double> const& y, Vector<double> const& s) {
                require_weights(s, lines(X.view));
                bool const codes = loss == "softmax" || loss.starts_with("ordered ");
                if (codes) require_range(y, 0, classes, "y must hold positions of classes.");
                new (self) BoundRows{X.owners,
                                     ShardRows(X.view, RowLoss::named(loss, parameter, classes), copied(y), copied(s))};
            },
            nb::arg("X"), nb::arg("loss"), nb::arg("parameter"), nb::arg("classes"), nb::arg("y"), nb::arg("s"))
        .def_prop_ro("lanes", [](BoundRows const& self) { return self.rows.lanes(); })
        .def_prop_ro("nbytes", [](BoundRows const& self) { return self.rows.bytes(); })
        .def_prop_ro("offsets", [](BoundRows const& self) { return self.rows.offsets(); })
        .def(
            "weigh",
            [](BoundRows& self, Vector<double> const& s) {
                require_weights(s, s.size());
                self.rows.weigh(copied(s));
            },
            nb::arg("s"))
        .def(
            "move",
            [](BoundRows& self, Matrix<double> const& W) {
                self.require_table(W);
                nb::gil_scoped_release released;
                self.rows.move(W.data());
            },
            nb::arg("W"), "Z = X W")
        .def(
            "aim",
            [](BoundRows& self, Matrix<double> const& D) {
                self.require_table(D);
                nb::gil_scoped_release released;
                self.rows.aim(D.data());
            },
            nb::arg("D"), "U = X D")
        .def("offset_sums", &offset_sums, nb::arg("b"), nb::arg("t"), nb::arg("derivatives"),
             "Sum of the loss at Z + t U, its slope and its curvature by the offsets.")
        .def("gradient", &gradient, nb::arg("b"), nb::arg("G"), "G += X' (s dl/dz); gives sum s l*.")
        .def("product", &product, nb::arg("b"), nb::arg("D"), nb::arg("e"), nb::arg("H"), nb::arg("q"),
             "Adds the Hessian's product with (D, e) to (H, q).")
        .def(
            "diagonal",
            [](BoundRows const& self, Vector<double> const& b, MutableMatrix<double> const& d) {
                self.require_offsets(b);
                self.require_table(d);
                nb::gil_scoped_release released;
                self.rows.diagonal(b.data(), d.data());
            },
            nb::arg("b"), nb::arg("d"), "Adds the Hessian's diagonal by the weights.");
}

}  // namespace tallywise::bindings
